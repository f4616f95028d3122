// Command sbom writes the bill of materials of a program built by Go, in CycloneDX
// 1.6 JSON on stdout: the modules that are linked into it, as the program itself
// records them. What is in go.mod for tests and other systems is not in it.
//
//	go run ./scripts/sbom -version 0.1.0 PROGRAM
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "version of the program")
	flag.Parse()
	if *version == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "sbom: takes -version VERSION PROGRAM")
		os.Exit(2)
	}
	text, err := describe(flag.Arg(0), *version)
	if err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%s\n", text)
}

// These are the parts of CycloneDX that are used, in the order of its schema.
type (
	bom struct {
		Format     string       `json:"bomFormat"`
		Spec       string       `json:"specVersion"`
		Version    int          `json:"version"`
		Metadata   metadata     `json:"metadata"`
		Components []component  `json:"components"`
		Depends    []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	}
	component struct {
		Ref        string     `json:"bom-ref"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Licenses   []licence  `json:"licenses,omitempty"`
		Purl       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Uses []string `json:"dependsOn"`
	}
)

// describe is the bill of a program. It fails for files that Go did not build.
func describe(program, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	main := componentOf(info.Main.Path, version)
	main.Type = "application"
	main.Licenses = []licence{{"Apache-2.0"}}
	main.Properties = []property{{"file", filepath.Base(program)}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "-tags" {
			main.Properties = append(main.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Component: main}}
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		b.Metadata.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	b.Components = append(b.Components, componentOf("std", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		b.Components = append(b.Components, ofModule(m))
	}
	slices.SortFunc(b.Components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	uses := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		uses.Uses = append(uses.Uses, c.Ref)
	}
	b.Depends = []dependency{uses}
	return json.MarshalIndent(b, "", "  ")
}

func ofModule(m *debug.Module) component {
	for m.Replace != nil {
		m = m.Replace
	}
	c := componentOf(m.Path, m.Version)
	if m.Sum != "" {
		c.Properties = []property{{"go.sum", m.Sum}}
	}
	return c
}

func componentOf(path, version string) component {
	// A version's plus sign stands for a space in a query only, but readers differ.
	purl := "pkg:golang/" + path + "@" + url.QueryEscape(version)
	return component{Ref: purl, Type: "library", Name: path, Version: version, Purl: purl}
}
