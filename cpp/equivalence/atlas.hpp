// All labeled BAPs on d nodes, sorted into exact equivalence classes and counted.
//
// Equivalent BAPs have the same skeleton, and relabeling the nodes maps classes to classes, so it is
// enough to sort the BAPs of one skeleton per isomorphism class and to weight it by the size of its
// orbit. With interventions, only relabelings that preserve the conditions are used.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/classes.hpp"
#include "stop.hpp"

namespace bowfree {

/// The BAPs of one unlabeled skeleton.
struct SkeletonCounts {
    std::vector<std::pair<int, int>> edges;  ///< one labeled skeleton
    std::uint64_t orbit = 0;                 ///< number of labeled skeletons
    std::uint64_t n_baps = 0;                ///< per labeled skeleton, as all counts below
    std::uint64_t n_classes = 0;
    std::uint64_t largest_class = 0;
    std::uint64_t n_split = 0;  ///< classes that single-edge changes do not connect
    EdgeKinds split_example;    ///< kinds of the edges of a member of such a class, or empty
};

/// A relabeling of the nodes, i becomes `label[i]`, after which a labeled skeleton is the first one
/// of its isomorphism class. Both are numbers with a bit for each pair, see `skeleton_bits`.
struct Relabeling {
    std::uint32_t first = 0;
    std::vector<int> label;
};

/// The pairs (i, j), i < j, that have an edge, in lexicographic order from bit 0.
std::uint32_t skeleton_bits(const Graph& graph);

/// The relabelings of all skeletons on d nodes. They preserve the conditions.
std::vector<Relabeling> relabelings(int d, const Conditions& conditions, const Stop& stop);

/// One entry per unlabeled skeleton on d nodes, by number of edges. Feasible for d <= 6. Throws
/// `Stopped` when the stop is raised.
std::vector<SkeletonCounts> atlas(int d, const Conditions& conditions, std::uint64_t seed,
                                  int n_threads, const Stop& stop);

}  // namespace bowfree
