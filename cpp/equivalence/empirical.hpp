// The empirical equivalence class of section 3.3: graphs with one skeleton and almost one score.
#pragma once

#include <vector>

#include "equivalence/classes.hpp"
#include "graph/graph.hpp"

namespace bowfree {

struct EmpiricalOptions {
    double epsilon = 1e-10;  ///< largest difference of a score from that of the given graph
    int max_depth = 0;       ///< largest number of single-edge changes
    int sweeps = 0;          ///< of RICF per score; 0: converged fits
    ClassOptions search;     ///< only its limit is used
};

struct EmpiricalMembers {
    ClassMembers members;
    std::vector<double> objective;  ///< per member: sum of F over the districts
    double own = 0.0;               ///< of the given graph
};

/// The first members are the graphs with the collider triples of `graph`, whatever their scores: they
/// are equivalent by theorem. Then follows a breadth-first search over single-edge changes. It finds
/// each graph by the fewest changes, so `max_depth` excludes no graph that the recursion of the paper
/// would reach. Scores are per observation, -F/2 up to a constant of the skeleton. `S` is d x d with
/// divisor n. When the stop is raised, the result is incomplete; if the score of `graph` is not yet
/// known, `Stopped` is thrown.
EmpiricalMembers empirical_class(const Graph& graph, const double* S,
                                 const EmpiricalOptions& options, const Stop& stop);

}  // namespace bowfree
