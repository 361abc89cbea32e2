"""One of each kind of result, for tests of what all results have in common."""

import bowfree as bf

QUICK = bf.search.Strategy(restarts=2, rounds=0)


def one_of_each(graph, data):
    """Return results for a graph and data of its variables; fewer for more than five variables."""
    search = bf.greedy_search(data, rng=1, strategy=QUICK)
    fit = bf.fit(graph, data)
    members = bf.equivalence_class(graph, limit=500)
    summary = members.summary()
    bounds = bf.effect_bounds(members, data)
    a, b = graph.nodes[:2]
    pair = {"of": a, "on": b}
    tests = bf.constraint_tests(graph, data)
    incomplete = data.assign(**{a: data[a].where(data[b] < data[b].quantile(0.8))})
    robust = bf.fit(graph, incomplete, missing="fiml", se="robust", test="yuan-bentler")
    conditions = [bf.Condition(data), bf.Condition(data), bf.Condition(data, targets=[b])]
    joint = bf.fit(graph, conditions)
    samples = bf.structure_mcmc(data, steps=200, burn_in=20, thin=5, chains=2, rng=1)
    made = [
        joint, joint.conditions[1], joint.sharing_test(), joint.moments.conditions[1],
        robust.scaled, robust.moments.missing_values,
        search, search.runs[0], search.confidence, samples, samples.edge(a, "->", b),
        fit, fit.summary(), fit.indices, fit.certificate[0], fit.estimates()[0],
        fit.standard_errors(), fit.total_effects(), fit.total_effects().effect(**pair), fit.sem(),
        members, summary, summary.edges[0], bf.empirical_class(graph, data, limit=20),
        bf.explain_equivalence(graph, graph), bf.design(graph, limit=200),
        bf.design(graph, limit=200).best, tests, tests[0], bounds, bounds.effect(**pair),
        bf.model.district_scores(graph, data), bf.intervene(fit, {a: 1.0}),
        bf.intervene(fit, {a: 1.0}).variable(b), graph.pag(), graph.identified(),
        graph.identified().rows[0], fit.residuals(data), fit.predict(data, of=a),
        fit.modification_indices(), fit.modification_indices()[0],
        bf.edge_changes(graph, data), bf.edge_changes(graph, data)[0],
        bf.compare([graph, fit], data), bf.compare([graph, fit], data).pairs[0],
        bf.effects.adjustment_sets(graph, **pair), bf.effects.instruments(graph, **pair),
        bf.effects.path_effects(fit, **pair), bf.effects.sensitivity(fit, **pair),
    ]  # fmt: skip
    if len(graph) <= 5:
        exact = bf.exhaustive_search(data)
        average = bf.averaged_effects(search, rng=1)
        refits = bf.bootstrap_fit(graph, data, n_bootstrap=40, bollen_stine=True, rng=1)
        again = bf.bootstrap(data, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1)
        made += [
            exact, exact.classes()[0], average, average.classes[0], average.effect(**pair),
            average.edge(a, "->", b), again, again.effect(**pair), refits, refits.effect(**pair),
            bf.effects.path_effect_bounds(members, data, **pair),
            bf.choose_penalty(data, penalties=[0.5, 1.0], cv=2, strategy=QUICK, rng=1),
            bf.stability_selection(data, n_halves=4, strategy=QUICK, rng=1),
            bf.equivalence.atlas(2), bf.equivalence.atlas(2).rows[1],
        ]  # fmt: skip
    return made
