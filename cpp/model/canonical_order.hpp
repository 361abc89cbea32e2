// An order of a district's variables that the order of the data's columns has no part in.
//
// The kernels go through members and parents one after the other, and where the likelihood has
// several maxima, the order has a say in which of them is found. So they work in an order that is
// read off the district itself: by the sum of a variable's squared correlations with the others.
// Real data leave no ties. Where there are some (a population matrix, say), variables are told
// apart by those that they are joined with, round after round, as in the color refinement of
// Weisfeiler and Leman, until a round tells no more of them apart. What is tied then can be
// exchanged, up to graphs that no such refinement can tell apart.
#pragma once

#include <vector>

#include "graph/district.hpp"

namespace bowfree {

/// Orders one district after another; buffers are kept between them.
class CanonicalOrder {
  public:
    /// Takes up a district, with the m x m correlation matrix of its variables in local numbers.
    void find(const District& given, const double* correlations);

    /// The district in canonical order: the members first, then the parents outside.
    const District& district() const { return district_; }

    /// The number in the given district of each variable of the canonical one.
    const std::vector<int>& given() const { return order_; }

  private:
    void sort(int k);
    int n_tied(int k) const;
    void refine(const District& given, const double* correlations);
    void arrange(const District& given);

    District district_;
    std::vector<int> order_, place_;
    std::vector<double> key_, finer_;
};

}  // namespace bowfree
