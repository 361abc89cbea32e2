// How one more condition would split a class of equivalent graphs: the value of an experiment.
//
// The answer does not depend on data, because equivalence under interventions is decided exactly
// (decision.hpp). Instead of comparing all pairs of members, each member gets a fingerprint, a
// number that equivalent members share, and only members with equal fingerprints are tested.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/decision.hpp"
#include "graph/edge.hpp"
#include "stop.hpp"

namespace bowfree {

/// The classes of equivalent graphs after one condition is added, for each of several additions:
/// members x additions, with classes numbered in the order of their first members. `kinds` are those
/// of the members on `edges`, row by row; all have the model of `graph` under `known`. Throws
/// `Stopped` when the stop is raised.
std::vector<std::int32_t> split_members(const Graph& graph,
                                        const std::vector<std::pair<int, int>>& edges,
                                        const Edge* kinds, std::size_t n_members,
                                        const Conditions& known,
                                        const std::vector<Condition>& additions, std::uint64_t seed,
                                        int n_threads, const Stop& stop);

}  // namespace bowfree
