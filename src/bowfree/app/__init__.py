"""The workbench: draw a graph over data and see at once how well it fits.

``bowfree app data.csv`` opens it in a browser, ``bf.workbench(data)`` in a notebook.

- :mod:`bowfree.app.session` holds the data, fits and analyzes the current graph, keeps the history,
  and answers the messages of a page, which are listed in :mod:`bowfree.app.messages`;
- :mod:`bowfree.app.editing` makes the changes that are possible, and explains why others are not;
- :mod:`bowfree.app.jobs` runs searches and bootstraps in threads;
- :mod:`bowfree.app.views` and :mod:`bowfree.app.positions` prepare results for the page;
- :mod:`bowfree.app.saved` writes session files and scripts;
- :mod:`bowfree.app.server` and :mod:`bowfree.app.widget` exchange messages with a page in a browser
  or a notebook; :mod:`bowfree.app.front_end` assembles its JavaScript from the files in ``front/``.
"""
