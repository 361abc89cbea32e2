// The relaxation of an exact search (exact.hpp): bounds of cells, and the districts that may be part
// of a better graph.
#pragma once

#include <vector>

#include "search/exact_space.hpp"

namespace bowfree::exact {

/// A district with its cell and its closing there.
struct Kept {
    Candidate candidate;
    int c;
    Set prefix;
    double closing;
};

class Relaxation {
  public:
    explicit Relaxation(Space& space) : space_(space) {}

    /// Bounds all cells, finds the largest closing of every cell that matters, which makes the
    /// relaxation tight, and then lists all districts that may be part of a better graph. Lowers the
    /// bound of the search meanwhile.
    std::vector<Kept> list_districts();

  private:
    struct Cell {
        int c, size;  // the node that closes, and the number of members
        Set prefix;
        double bound;    // of the closings of all its districts
        double closing;  // the same, or the largest closing above single(c | prefix)
        bool open = false;
    };

    void bound_cells();
    void relax();
    double needed(const Cell& cell) const;
    void each_district(const Cell& cell, const double& least, const Space::OnDistrict& visit);

    Space& space_;
    std::vector<Table> closing_, passing_;  // by the number of members
    std::vector<Cell> cells_;
    /// By the number of the other members, and by the set of them and their parents.
    std::vector<std::vector<double>> group_best_;
};

}  // namespace bowfree::exact
