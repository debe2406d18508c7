"""Scenes of the article: text that scrolls under a live figure of the explorer.

    ```{scene} saddles 2
    What one sees in step 2 of that story.
    ```

With the tag `site` (`make site`), where the explorer lies beside the documentation, `_static/scenes.js` puts a figure
above the scenes of one story and moves it to each step as its text comes up. Without it a scene is its text alone.
"""

from docutils import nodes
from docutils.parsers.rst import Directive


class Scene(Directive):
    required_arguments = 2  # the story, and its step counted from 1
    has_content = True

    def run(self):
        story, step = self.arguments[0], int(self.arguments[1])
        node = nodes.container(classes=["scene", f"story-{story}", f"step-{step}"])
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def scripts(app, page, template, context, doctree):
    """The article alone gets the script, and only where the explorer is there."""
    if page == "article" and app.tags.has("site"):
        app.add_js_file("scenes.js")


def setup(app):
    app.add_directive("scene", Scene)
    app.connect("html-page-context", scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
