"""The workbench: draw a graph over data, and see at once how well it fits.

``bowfree app data.csv`` opens it in a browser, ``bf.workbench(data)`` in a notebook.

- :mod:`bowfree.app.session` holds the data and answers messages, whose words are in
  :mod:`bowfree.app.commands` and :mod:`bowfree.app.requests`;
- :mod:`bowfree.app.current_graph` fits what is drawn, keeps its past and finds what follows from it;
- :mod:`bowfree.app.editing` says which changes are possible, and why others are not;
- :mod:`bowfree.app.views` picks what is shown of results, :mod:`bowfree.app.positions` says where;
- :mod:`bowfree.app.background_jobs` searches and resamples beside the conversation, in the threads of
  :mod:`bowfree.app.workers`;
- :mod:`bowfree.app.saved` and :mod:`bowfree.app.reproduce` are for what is kept;
- :mod:`bowfree.app.server` and :mod:`bowfree.app.widget` carry the messages, to a page on this
  machine or to a notebook; :mod:`bowfree.app.front_end` is what they show, one module of
  JavaScript made of the files in ``front/``.
"""
