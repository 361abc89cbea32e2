// Effects over the members of a class; `bowfree.effects.bounds` drives them.
#include <algorithm>
#include <numeric>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"
#include "effects/bounds.hpp"
#include "equivalence/classes.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// Calls `work`, which adds members until time is up; returns their number.
template <class Work>
auto added_in_time(EffectCounter& counter, std::optional<double> seconds, Work&& work) {
    return interruptibly(seconds, [&](const Stop& stop) {
        const auto before = counter.tally().n_members;
        counter.use_stop(stop);
        try {
            work();
        } catch (const Stopped&) {
        }
        return counter.tally().n_members - before;
    });
}

auto add_graphs(EffectCounter& self, const BitStack& parents, const BitStack& spouses,
                std::optional<double> seconds) {
    std::vector<int> nodes(self.n_nodes());
    std::iota(nodes.begin(), nodes.end(), 0);
    return added_in_time(self, seconds, [&] {
        for_each_graph(self.n_nodes(), parents, spouses,
                       [&](const Graph& graph) { self.add(graph, nodes); });
    });
}

auto objectives(EffectCounter& self, const BitStack& parents, const BitStack& spouses,
                std::optional<double> seconds, std::optional<double> seconds_of_first) {
    return to_numpy(interruptibly(seconds, [&](const Stop& stop) {
        const Stop until_first = with_grace(seconds_of_first);
        self.use_stop(until_first);
        std::vector<double> values;
        try {
            for_each_graph(self.n_nodes(), parents, spouses, [&](const Graph& graph) {
                values.push_back(self.objective(graph));
                self.use_stop(stop);
                stop.check();
            });
        } catch (const Stopped&) {
            if (values.empty()) throw;
        }
        return values;
    }));
}

auto add_members(EffectCounter& self, const std::vector<std::pair<int, int>>& edges,
                 const Bytes& kinds, std::optional<double> seconds) {
    expect_shape(kinds, {kinds.shape(0), edges.size()}, "kinds must have one column per edge");
    std::vector<int> nodes;
    for (const auto& [i, j] : edges) {
        if (i < 0 || i >= j || j >= self.n_nodes())
            throw std::invalid_argument("edges must be pairs i < j of nodes");
        nodes.insert(nodes.end(), {i, j});
    }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    const auto* states = reinterpret_cast<const Edge*>(kinds.data());
    return added_in_time(self, seconds, [&] {
        for (std::size_t g = 0; g < kinds.shape(0); ++g)
            self.add(graph_of_kinds(self.n_nodes(), edges, states + g * edges.size()), nodes);
    });
}

Named to_dict(const EffectCounter& self) {
    const EffectTally& tally = self.tally();
    const auto d = static_cast<std::size_t>(self.d());
    const auto matrix = [d](const std::vector<double>& values) {
        return to_numpy(std::vector<double>(values), {d, d});
    };
    Named found;
    found["n_members"] = tally.n_members;
    found["lower"] = matrix(tally.lower);
    found["upper"] = matrix(tally.upper);
    found["min_abs"] = matrix(tally.min_abs);
    found["max_abs"] = matrix(tally.max_abs);
    found["sum"] = matrix(tally.sum);
    found["sum_abs"] = matrix(tally.sum_abs);
    found["positive"] = matrix(tally.positive);
    found["negative"] = matrix(tally.negative);
    return found;
}

}  // namespace

void bind_effects(nb::module_& m) {
    nb::class_<EffectCounter>(m, "EffectCounter", "Bounds on total effects, member by member.")
        .def(
            "__init__",
            [](EffectCounter* self, const Data& data, double path_sign, double zero,
               std::size_t max_districts, bool variances, const std::optional<Matrix>& gamma,
               const std::vector<int>& sizes) {
                auto joint = to_conditions(data);
                expect_sizes(sizes, joint);
                std::vector<double> entries;
                if (gamma) entries = to_square(*gamma, joint.d * (joint.d + 1) / 2);
                new (self) EffectCounter(std::move(joint), path_sign, zero, max_districts,
                                         variances, std::move(entries), sizes);
            },
            "S"_a, "path_sign"_a, "zero"_a, "max_districts"_a, "variances"_a,
            "gamma"_a.none() = nb::none(), "sizes"_a = std::vector<int>{})
        .def("columns", &EffectCounter::columns, "nodes"_a, "The columns of some nodes.")
        .def("add_graphs", &add_graphs, "parents"_a, "spouses"_a, "seconds"_a.none(),
             "Adds BAPs of shape (members, d, words) until time is up; returns their number.")
        .def("add_members", &add_members, "edges"_a, "kinds"_a, "seconds"_a.none(),
             "Adds BAPs with these edges, given by pair states of shape (members, edges), until "
             "time is up; returns their number. Only effects among the ends of the edges count.")
        .def("objectives", &objectives, "parents"_a, "spouses"_a, "seconds"_a.none(),
             "seconds_of_first"_a.none(),
             "Sum of F over the districts of each BAP until time is up; raises TimeIsUp when the "
             "first takes longer than permitted.")
        .def("reset", &EffectCounter::reset, "Removes the members, but not the fits.")
        .def("tally", &to_dict, "Bounds, sums and counts over the members, each (d, d).")
        .def_prop_ro("n_fits", &EffectCounter::n_fits, "Districts fitted.")
        .def_prop_ro("work", &EffectCounter::work,
                     "Iterations of the fits times the cube of their numbers of nodes.")
        .def_prop_ro("n_uncertified", &EffectCounter::n_uncertified,
                     "Of these, fits that are not certified to be a maximum.");
}

}  // namespace bowfree::bindings
