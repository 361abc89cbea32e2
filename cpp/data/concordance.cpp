#include "data/concordance.hpp"

#include <algorithm>
#include <numeric>

namespace bowfree {

namespace {

/// Counts of the values 0 .. n - 1 added so far, with cumulative sums: a Fenwick tree.
class Counts {
  public:
    explicit Counts(int n) : tree_(n + 1) {}

    void add(int value) {
        for (int k = value + 1; k < size(); k += k & -k) ++tree_[k];
        ++total_;
    }

    /// The number of smaller values minus the number of larger ones.
    std::int64_t balance(int value) const { return below(value) + below(value + 1) - total_; }

  private:
    int size() const { return static_cast<int>(tree_.size()); }
    std::int64_t below(int value) const {
        std::int64_t sum = 0;
        for (int k = value; k > 0; k -= k & -k) sum += tree_[k];
        return sum;
    }

    std::vector<std::int32_t> tree_;
    std::int64_t total_ = 0;
};

}  // namespace

std::vector<std::int64_t> concordance(const std::int32_t* x, const std::int32_t* y, int n,
                                      const Stop* stop) {
    std::vector<int> first(n + 1), order(n);  // sorted by counting: ranks are small numbers
    for (int i = 0; i < n; ++i) ++first[x[i] + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    for (int i = 0; i < n; ++i) order[first[x[i]]++] = i;
    std::vector<std::int64_t> sum(n);
    // In ascending order of x, the rows already counted are smaller in x, so those smaller in y are
    // concordant; in descending order it is the other way round. Rows tied in x are evaluated
    // before any of them is counted.
    for (const int sign : {1, -1}) {
        Counts seen(n);
        for (int start = 0; start < n;) {
            if (stop != nullptr) stop->check();
            int end = start;
            while (end < n && x[order[end]] == x[order[start]]) ++end;
            for (int k = start; k < end; ++k) sum[order[k]] += sign * seen.balance(y[order[k]]);
            for (int k = start; k < end; ++k) seen.add(y[order[k]]);
            start = end;
        }
        std::ranges::reverse(order);
    }
    return sum;
}

}  // namespace bowfree
