// One bind_* function for each folder of the core; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace bowfree::bindings {

void bind_data(nanobind::module_& m);
void bind_effects(nanobind::module_& m);
void bind_equivalence(nanobind::module_& m);
void bind_exact(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_space(nanobind::module_& m);
void bind_uncertainty(nanobind::module_& m);

}  // namespace bowfree::bindings
