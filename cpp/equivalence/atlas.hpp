// All labeled BAPs on d nodes, sorted into exact equivalence classes and counted.
//
// Equivalent BAPs share a skeleton, and relabelling the nodes maps classes to classes, so it is
// enough to sort the BAPs of one skeleton per isomorphism type and to weigh it with its orbit. With
// interventions only the relabellings that keep the targets do so.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/classes.hpp"
#include "stop.hpp"

namespace bowfree {

/// The BAPs of one unlabeled skeleton.
struct SkeletonCounts {
    std::vector<std::pair<int, int>> edges;  ///< the labeled skeleton that was looked at
    std::uint64_t orbit = 0;                 ///< labeled skeletons of this shape
    std::uint64_t n_baps = 0;                ///< per labeled skeleton, as all counts below
    std::uint64_t n_classes = 0;
    std::uint64_t largest_class = 0;
    std::uint64_t n_split = 0;  ///< classes that single-edge changes do not connect
    EdgeKinds split_example;    ///< kinds of a member of such a class, or empty
};

/// One entry per unlabeled skeleton on d nodes, by number of edges. Feasible for d <= 6. Under
/// conditions only those relabellings count that map them to each other. Throws `Stopped` when the
/// stop is raised.
std::vector<SkeletonCounts> atlas(int d, const Conditions& conditions, std::uint64_t seed,
                                  int n_threads, const Stop& stop);

}  // namespace bowfree
