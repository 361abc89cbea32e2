"""Where the boxes and lines of a picture go; shared by notebooks, plots and the report.

``layout`` places the boxes, ``modules`` those of dense graphs, ``routing`` bends the edges around
them, ``edge_labels`` finds room for numbers, ``svg`` writes it down, ``drawn`` puts it above a
result. ``curves.js`` draws the edges again where boxes of a page are moved. ``climb_window``
chooses the part of a search worth showing.
"""
