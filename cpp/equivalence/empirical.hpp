// The empirical equivalence class of section 3.3: graphs with one skeleton and almost one score.
#pragma once

#include <vector>

#include "equivalence/classes.hpp"
#include "graph/graph.hpp"

namespace bowfree {

struct EmpiricalOptions {
    double epsilon = 1e-10;  ///< how far a score may be from that of the given graph
    int max_depth = 0;       ///< most single-edge changes in a row
    int sweeps = 0;          ///< of RICF for a score; 0 for converged fits
    ClassOptions search;     ///< its limit; the seed is not used
};

struct EmpiricalMembers {
    ClassMembers members;
    std::vector<double> objective;  ///< per member: sum of F over the districts
    double own = 0.0;               ///< of the given graph
};

/// Graphs with the collider triples of `graph` come first, whatever their scores: they are
/// equivalent by theorem. Then breadth first over single-edge changes, which finds each graph by
/// the fewest, so that `max_depth` cuts off no graph that the recursion of the paper would
/// reach. Scores are per observation, -F/2 up to a constant of the skeleton. `S` is d x d with
/// divisor n. When the stop is raised, what was found so far comes back as not complete; `Stopped`
/// comes out when not even the score of `graph` is known.
EmpiricalMembers empirical_class(const Graph& graph, const double* S,
                                 const EmpiricalOptions& options, const Stop& stop);

}  // namespace bowfree
