package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// SARIF 2.1.0, as far as it is used:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	Name             string       `json:"name"`
	ShortDescription sarifMessage `json:"shortDescription"`
	FullDescription  sarifMessage `json:"fullDescription"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful  bool   `json:"executionSuccessful"`
	CommandLine string `json:"commandLine,omitempty"`
	Start       string `json:"startTimeUtc,omitempty"`
	End         string `json:"endTimeUtc,omitempty"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   map[string]any    `json:"properties"`
}

type sarifLocation struct {
	ID       int            `json:"id,omitempty"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifMessage  `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine int64 `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// sarifRules are the verdicts that are findings.
var sarifRules = [...]struct {
	class       verdict.Class
	name, brief string
	about       string
}{
	{verdict.AppLeak, "AppLeak", "Memory the program references grows",
		"Tensors or buffers that the program still references grow while it runs, or stay when it has " +
			"released everything."},
	{verdict.PoolGrowth, "PoolGrowth", "The pool's idle memory grows",
		"Memory that the program's pool or caching allocator keeps, and nobody references, grows while it " +
			"runs."},
	{verdict.DriverGrowth, "DriverGrowth", "The driver's memory grows",
		"Memory that the driver charges the process beyond what it allocated grows while it runs."},
	{verdict.HostGrowth, "HostGrowth", "Host memory grows",
		"Host memory outside of all device memory grows while the program runs."},
}

// sarifBase is the name of the folder that sources are told relative to.
const sarifBase = "SRCROOT"

// writeSARIF writes the verdict as one result at the lines of source that hold
// the most; a run with nothing to find, or an undecided one, has no result.
func writeSARIF(w io.Writer, run *record.Run, v *verdict.Verdict, o Options) error {
	r := sarifRun{Results: []sarifResult{}}
	r.Tool.Driver = sarifDriver{Name: "gpumem", Version: o.Version,
		InformationURI: "https://github.com/gpumem/gpumem"}
	for i, rule := range sarifRules {
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules,
			sarifRule{string(rule.class), rule.name, sarifMessage{rule.brief}, sarifMessage{rule.about}})
		if rule.class == v.Verdict {
			r.Results = append(r.Results, sarifFinding(i, run, v, o))
		}
	}
	r.Invocations = []sarifInvocation{invocationOf(run)}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{r},
	})
}

// invocationOf is how the run was made. It counts as successful because it was
// recorded, whatever the traced program's own code.
func invocationOf(run *record.Run) sarifInvocation {
	const utc = "2006-01-02T15:04:05.000Z"
	i := sarifInvocation{Successful: true, CommandLine: bounded(strings.Join(run.Meta.Command, " "))}
	if !run.Meta.Start.IsZero() {
		i.Start = run.Meta.Start.UTC().Format(utc)
		if run.Meta.End != nil {
			i.End = run.Meta.End.UTC().Format(utc)
		}
	}
	return i
}

func sarifFinding(rule int, run *record.Run, v *verdict.Verdict, o Options) sarifResult {
	result := sarifResult{
		RuleID: string(v.Verdict), RuleIndex: rule, Level: sarifLevel(v.Tier),
		Message:    sarifMessage{findingText(v)},
		Properties: map[string]any{"tier": v.Tier, "confidence": v.Confidence},
	}
	print := string(v.Verdict)
	for i, s := range sitesOf(run, v) {
		if i == mostSites {
			break
		}
		l := locationOf(s, o.SourceRoot)
		if i == 0 {
			result.Locations = []sarifLocation{l}
			print += " " + placeOf(s.Site).Name
			continue
		}
		l.ID = i
		result.Related = append(result.Related, l)
	}
	// The function and not the line: a finding stays the same when lines above
	// it move.
	sum := sha256.Sum256([]byte(print))
	result.Fingerprints = map[string]string{"gpumem/v1": hex.EncodeToString(sum[:16])}
	return result
}

func findingText(v *verdict.Verdict) string {
	text := bounded(v.Summary)
	for _, c := range v.Causes {
		if c.Next != "" {
			text += "\n" + bounded(c.ID) + ": " + bounded(c.Next)
		}
	}
	return text
}

func sarifLevel(tier verdict.Tier) string {
	switch tier {
	case verdict.Confirmed, verdict.Likely:
		return "error"
	case verdict.Suspected:
		return "warning"
	}
	return "note"
}

// locationOf is a site as a line of source; one without a file is a name.
func locationOf(s record.Site, root string) sarifLocation {
	at := placeOf(s.Site)
	l := sarifLocation{Message: &sarifMessage{fmt.Sprintf("%d bytes in %d allocations", s.Bytes, s.Count)}}
	if at.Name != "" {
		l.Logical = []sarifLogical{{Name: at.Name, Kind: "function"}}
	}
	if at.File != "" && !strings.HasPrefix(at.File, "<") { // <string>, <frozen …> are no files
		l.Physical = &sarifPhysical{Artifact: artifactOf(at.File, root), Region: &sarifRegion{at.Line}}
	}
	return l
}

// artifactOf is the URI of a file: relative to the root when it lies below it,
// or is relative already.
func artifactOf(file, root string) sarifArtifact {
	if root != "" && filepath.IsAbs(file) {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
	}
	slashed := filepath.ToSlash(file)
	if !path.IsAbs(slashed) && !filepath.IsAbs(file) {
		return sarifArtifact{URI: (&url.URL{Path: path.Clean(slashed)}).String(), Base: sarifBase}
	}
	return sarifArtifact{URI: (&url.URL{Scheme: "file",
		Path: "/" + strings.TrimPrefix(slashed, "/")}).String()}
}
