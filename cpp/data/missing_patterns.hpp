// The likelihood of rows with missing values, whose rows are grouped by the cells they lack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stop.hpp"

namespace bowfree {

/// Terms of the likelihood of P patterns of d variables, with zeros for missing cells. W is the
/// inverse of the observed block of Sigma, z the deviation of the mean of a pattern, T its scatter
/// about the mean of the model.
struct PatternTerms {
    std::vector<double> W;        ///< P x d x d
    std::vector<double> WTW;      ///< P x d x d
    std::vector<double> Wz;       ///< P x d
    std::vector<double> log_det;  ///< of the observed block; infinite if it is not definite
    std::vector<double> trace;    ///< of W T
};

/// `observed` and `z` are P x d, `scatter` (about the mean of the pattern) is P x d x d.
PatternTerms pattern_terms(const double* Sigma, std::size_t d, std::size_t n_patterns,
                           const std::uint8_t* observed, const double* z, const double* scatter,
                           const Stop& stop);

}  // namespace bowfree
