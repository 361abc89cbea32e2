// One bind_* function per part of the core; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace bowfree::bindings {

void bind_effects(nanobind::module_& m);
void bind_equivalence(nanobind::module_& m);
void bind_likelihood(nanobind::module_& m);
void bind_sampler(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_structure_chain(nanobind::module_& m);

}  // namespace bowfree::bindings
