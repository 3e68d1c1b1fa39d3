"""What a page would ask a browser to load, for the tests of every page of the image."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

# Attributes whose value a browser follows or loads.
FOLLOWED = {"src", "srcset", "href", "action", "formaction", "poster", "data", "background"}


class Page(HTMLParser):
    """A page taken apart: its tags with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html, self.tags, self.text = html, [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        """Return the attributes of each ``tag``."""
        return [attributes for name, attributes in self.tags if name == tag]


def assert_needs_no_network(html):
    """Nothing is loaded or followed beyond ``data:`` and anchors, and the browser is told so."""
    page = Page(html)
    (policy,) = (
        meta["content"]
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';"), policy
    assert "http" not in policy
    assert "*" not in policy
    for tag, attributes in page.tags:
        assert tag not in ("script", "iframe", "object", "embed", "base"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in FOLLOWED:
                assert value.startswith(("data:", "#")), (tag, name, value[:80])
    for address in re.findall(r"url\(([^)]*)\)|@import", html):
        assert address.startswith("data:"), address
    for picture in pictures(html):
        # Within an SVG: neither script nor anything from elsewhere.
        for element in picture.iter():
            assert not element.tag.endswith("}script")
            for name, value in element.attrib.items():
                assert not name.endswith("href") or value.startswith("#"), value


def pictures(html):
    """Return each SVG in the page as a tree; every other image must be a PNG."""
    trees = []
    for kind, content in re.findall(r'"data:(image/[^;"]+);base64,([^"]+)"', html):
        image = base64.b64decode(content, validate=True)
        if kind == "image/svg+xml":
            trees.append(ElementTree.fromstring(image))
        else:
            assert kind == "image/png"
            assert image.startswith(b"\x89PNG\r\n")
    return trees
