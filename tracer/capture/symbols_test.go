package capture

import (
	"strings"
	"testing"
)

func TestNamesOfFunctionsAreThoseOfTheirSources(t *testing.T) {
	t.Parallel()
	for linked, want := range map[string]string{
		"leak_here": "leak_here",
		"_ZN3c104cuda20CUDACachingAllocator6Native22DeviceCachingAllocator6mallocEamP11CUstream_st": "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc",
		"_ZNSt6vectorIiSaIiEE9push_backERKi":                                  "std::vector::push_back",
		"_RNvCs1234_7mycrate3foo":                                             "mycrate::foo",
		"_RNvMNtCs1_5fault5cacheNtB2_5Cache8remember":                         "fault::cache::Cache::remember",
		"_RNvMs1_Cs1_1aINtB5_5CacheINtNtCs2_5alloc3vec3VechEE3putB5_":         "a::Cache::put",
		"_RNvXs0_Cs1_1aINtB5_5CacheINtNtCs2_5alloc3vec3VechEENtB5_4Keep4keep": "<a::Cache as a::Keep>::keep",
		"_RINvCs1_1a4callNCNvB2_4main0EB2_":                                   "a::call",
		"_RNCNvCs1_1a4main0B3_":                                               "a::main::{closure#0}",
		"_RINvMs_Cs1_1aNtB5_4Pool4growhEB5_.llvm.17859125243687996908":        "a::Pool::grow",
		"_ZN5fault5cache5Cache8remember17h0123456789abcdefE":                  "fault::cache::Cache::remember",
		"_ZN5torch8autograd6Engine17evaluate_functionEv.cold":                 "torch::autograd::Engine::evaluate_function",
		"_Zno name of C++":                                                    "_Zno name of C++",
		"_ZNSt6vectorIiSaIiEE9push_":                                          "_ZNSt6vectorIiSaIiEE9push_", // cut off
		"__fields_MOD_refine":                                                 "fields::refine",
		"__my_mod_MOD_new_step.constprop.0":                                   "my_mod::new_step",
		"__fields.parts_MOD_refine":                                           "fields::parts::refine",
		"_QMfieldsPrefine":                                                    "fields::refine",
		"_QMfieldsFrefinePinner":                                              "fields::refine::inner",
		"_QPplain_step":                                                       "plain_step",
		"_QQmain":                                                             "_QQmain",
		"_QMfields":                                                           "_QMfields",
		"_QUICK_MOD_start":                                                    "_QUICK_MOD_start",
		"__MOD_start":                                                         "__MOD_start",
		"fields_refine_":                                                      "fields_refine_",
		"MAIN__":                                                              "MAIN__",
		"":                                                                    "",
	} {
		if got := demangled(linked); got != want {
			t.Errorf("%q is shown as %q, want %q", linked, got, want)
		}
	}
}

func TestNamesOfFortranAreThoseOfTheirSourcesWhereBothAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ linked, name, want string }{
		{"fields_refine_", "refine", "fields::refine"}, {"plain_step_", "plain_step", "plain_step"},
		{"__fields_MOD_refine", "refine", "fields::refine"}, {"dgemm_", "", "dgemm_"},
		{"_ZN3app5serveEi", "serve", "app::serve"}, {"Keep_it_", "it", "Keep_it_"},
	} {
		if got := sourceName(c.linked, c.name); got != c.want {
			t.Errorf("%s, %s is shown as %q, want %q", c.linked, c.name, got, c.want)
		}
	}
}

func FuzzNamesOfAnyKindAreBounded(f *testing.F) {
	f.Add("_ZNSt6vectorIiSaIiEE9push_backERKi")
	f.Add("_RNvCs1234_7mycrate3foo")
	f.Add("_Z" + strings.Repeat("N", 500))
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > maxName {
			t.Skip("names are cut before")
		}
		if got := demangled(name); len(got) > 2*maxName {
			t.Errorf("%d bytes of %q", len(got), name)
		}
	})
}
