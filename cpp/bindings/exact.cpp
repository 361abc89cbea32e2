// Exact search; `bowfree.search.exact` calls it.
#include "search/exact.hpp"

#include <stdexcept>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"

namespace bowfree::bindings {

namespace {

Named exact(const Data& data, double n, double penalty, std::size_t cache_bytes, const Rules& rules,
            int max_district, int max_parents, double tolerance, double work_limit, double score,
            std::optional<double> seconds, const nb::object& progress) {
    JointData conditions = to_conditions(data);
    expect_nodes(rules, conditions.d);
    if (conditions.d > exact_limit || max_district > exact_district_limit)
        throw std::invalid_argument("too many nodes, or too large districts");
    if (max_district > 1 && !conditions.is_observational())
        throw std::invalid_argument("districts of several nodes require one condition");
    if (rules.graph_class != GraphClass::dag &&
        count_cells(conditions.d, max_district) > exact_cell_limit)
        throw std::invalid_argument("too many nodes for districts of this size");
    Scorer scorer(std::move(conditions), n, penalty, cache_bytes);
    // Ctrl-C ends the search like a time limit: the best graph so far and a bound are returned.
    bool interrupted = false;
    const auto continues = [&](std::uint64_t n_fits) {
        const nb::gil_scoped_acquire held;
        try {
            handle_signals();
            if (!progress.is_none()) progress(n_fits);
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            interrupted = true;
            throw Stopped{};
        }
    };
    const ExactResult result = [&] {
        const Stop stop(continues, deadline_in(seconds));
        const nb::gil_scoped_release released;
        return exact_search(scorer, rules, {max_district, max_parents, tolerance, work_limit},
                            score, stop);
    }();
    Named found;
    found["graph"] = result.graph ? nb::cast(to_bits(*result.graph)) : nb::none();
    found["score"] = result.score;
    found["bound"] = result.bound;
    found["proved"] = result.proved;
    found["interrupted"] = interrupted;
    found["bounded"] = result.bounded;
    found["fits"] = result.fitted;
    found["kept"] = result.kept;
    found["states"] = result.states;
    found["work"] = result.work;
    return found;
}

}  // namespace

void bind_exact(nb::module_& m) {
    m.def("exact_search", &exact, nb::arg("S"), nb::arg("n"), nb::arg("penalty"),
          nb::arg("cache_bytes"), nb::arg("rules"), nb::arg("max_district"), nb::arg("max_parents"),
          nb::arg("tolerance"), nb::arg("work_limit"), nb::arg("score"),
          nb::arg("seconds").none() = nb::none(), nb::arg("progress").none() = nb::none(),
          "The best graph of a space with small districts, if it is better than `score`; see "
          "cpp/search/exact.hpp. At most 20 nodes. `progress` is called with the number of fits."
          "Ctrl-C returns the best graph so far.");
}

}  // namespace bowfree::bindings
