// Members of a district that can be fitted separately, so that a smaller district remains.
//
// Let v be a member whose spouses Q are pairwise spouses of each other and have all parents of v
// among their own. Write the errors of Q as eps_q = alpha_q eps_v + eps'_q with eps' uncorrelated
// with eps_v. Since eps_v = x_v - B_v x, row q of A = I - B turns into A_q - alpha_q A_v: it gains
// the entry of v and, as pa(v) is part of pa(q), no other. And Omega'_qr = Omega_qr - alpha_q
// alpha_r omega_vv is as free as before for q, r in Q. The map has determinant one, so it leaves
//
//     F = log |Omega| + tr(Omega^-1 A S A^T)
//
// unchanged: v <-> q may be replaced by v -> q. Then v is a district by itself, with a closed form,
// and the rest is a district with one member less. (This is about F only: the graph that results
// may have a cycle.)
//
// If there is v -> q as well (a bow), the two become one edge: they are not identified.
//
// With several conditions (conditions.hpp) the same holds in every group that does not set v. A
// group that sets v contains no eps_v to subtract, so it must set all of Q. If a condition has
// specific parameters, nothing is peeled: v <-> q and v -> q differ in their specific parameters.
//
// The order of peeling does not matter. Peeling u leaves v peelable: if they are not spouses, all
// that changes for v are additional parents of its spouses; if they are, both conditions together
// imply that u and v have the same parents and the same other spouses (and are set by the same
// groups), and these and v all gain the parent u. In both cases the rest is the same in the end,
// and u and v contribute the same F, by the chain rule of regressions. So members may be tried in
// index order, and the score still does not depend on the order of the columns.
#pragma once

#include <optional>

#include "data/conditions.hpp"
#include "graph/district.hpp"

namespace bowfree {

/// The first member that can be peeled off, if any; none for a single member. `conditions` is null
/// for one condition without targets.
std::optional<int> peelable(const District& district, const JointData* conditions = nullptr);

/// Member v with its parents only.
District alone(const District& district, int v);

/// The other members, with v as a parent of its spouses. Requires that v is peelable.
District without(const District& district, int v);

}  // namespace bowfree
