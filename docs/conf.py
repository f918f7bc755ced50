"""How the documentation is built: ``sphinx-build -W -n docs docs/_build``, with the extra "docs"."""

from typing import Any

import burnpy

project = "burnpy"
author = "The burnpy developers"
version = release = burnpy.__version__
html_title = f"burnpy {release}"

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
html_theme = "furo"
exclude_patterns = ["_build"]
myst_heading_anchors = 3

# Docstrings are in NumPy's style; types that they give are prose ("array, shape (N, C, H, W)"), not names to be looked up.
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = napoleon_use_ivar = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types, shapes and units; annotations spell out every alias
default_role = "py:obj"

# A name of burnpy must lead somewhere. Others stand as they are: the inventories of their projects would have to be
# fetched, and a name without a dot may be that of a parameter.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!burnpy\.).*")]


def setup(app: Any) -> None:
    """Let docstrings of any module call what all of burnpy shares by its bare name, as in ``ShapeError``."""

    def by_bare_name(app: Any, env: Any, node: Any, shown: Any) -> Any:
        domain = env.get_domain("py")
        name = node.get("reftarget", "")
        if node.get("refdomain") != "py" or name not in burnpy.__all__:
            return None
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", f"burnpy.{name}", node, shown)

    app.connect("missing-reference", by_bare_name)
