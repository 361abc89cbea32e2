"""How sure the answer is.

``averaging`` weighs all graphs that come close to the best, ``structure_mcmc`` walks over graphs at
random in proportion to their weight (``chain_walks`` has the way, here or on other machines, and
``structure_samples`` says whether it was long enough), ``bootstrap`` repeats the search on resampled
data and ``given_model`` the fit of one graph, ``penalty_choice`` searches on parts of them, and
``left_out`` foresees one condition from the others. Asked for one edge, the first three answer with
its ``edge_share``. ``design`` says which experiment would tell most about what is left open.
"""
