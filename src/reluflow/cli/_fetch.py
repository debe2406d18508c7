"""Download of the four MNIST files from their public mirror, each verified before it is put in place."""

import gzip
import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

SOURCE = "https://ossci-datasets.s3.amazonaws.com/mnist/"


def mnist(folder: Path, source: str = SOURCE) -> Iterator[str]:
    """Downloads missing files; yields one line per file."""
    from reluflow.data.digits import FILES

    folder.mkdir(parents=True, exist_ok=True)
    for file in (f for pair in FILES.values() for f in pair):
        path = folder / f"{file.name}.gz"
        if path.is_file() and _sum(path.read_bytes()) == file.sha256:
            yield f"{path}: already present, checksum correct"
            continue
        content = _download(source + path.name)
        if _sum(content) != file.sha256:
            raise ValueError(
                f"`{path.name}` must have the checksum {file.sha256[:12]}..., got another from `{source}`: try again."
            )
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(content)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
        yield f"{path}: downloaded, checksum correct"


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        why = getattr(error, "reason", None) or error
        raise ValueError(
            f"Cannot download {url} ({why}): download it elsewhere and put it in the folder by hand."
        ) from None


def _sum(content: bytes) -> str:
    try:
        return hashlib.sha256(gzip.decompress(content)).hexdigest()
    except (OSError, EOFError):
        return ""
