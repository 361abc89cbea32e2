// An order of the variables of a district that does not depend on the order of the data's columns.
//
// Fits visit members and parents one after the other, and when the likelihood has several maxima,
// the order influences which one is found. So they use an order by the sum of a variable's squared
// correlations with the others. Ties, which occur in population matrices but hardly in data, are
// broken by the neighbors of the variables, as in the color refinement of Weisfeiler and Leman,
// until a round breaks no more of them. Variables that are still tied are exchangeable, up to
// graphs that no such refinement distinguishes.
#pragma once

#include <vector>

#include "graph/district.hpp"

namespace bowfree {

/// Orders one district after another; buffers are kept between them.
class CanonicalOrder {
  public:
    /// Orders a district, given the m x m correlation matrix of its variables in local numbers. The
    /// order is valid, if arbitrary, when correlations are NaN.
    void compute(const District& given, const double* correlations);

    /// The district in canonical order: the members first, then the parents outside.
    const District& district() const { return district_; }

    /// For each variable of the canonical district its number in the given one.
    const std::vector<int>& original() const { return order_; }

  private:
    void sort(int k);
    int n_tied(int k) const;
    void refine(const District& given, const double* correlations);
    void arrange(const District& given);

    District district_;
    std::vector<int> order_, position_;
    std::vector<double> key_, finer_;
};

}  // namespace bowfree
