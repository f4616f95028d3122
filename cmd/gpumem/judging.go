package main

import (
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
)

// judgingFlags are the thresholds of a verdict a user may set.
type judgingFlags struct {
	leftover byteSize
	unified  string
}

func defaultJudgingFlags() judgingFlags {
	return judgingFlags{leftover: 1 << 20, unified: "auto"}
}

func (j *judgingFlags) add(flags *pflag.FlagSet) {
	flags.Var(&j.leftover, "leftover", "what may stay between the marks baseline and released")
	flags.StringVar(&j.unified, "unified", j.unified, "whether GPU bytes are host memory: auto, yes or no")
}

func (j *judgingFlags) options() (verdict.Options, error) {
	o := verdict.Options{LeftoverBytes: int64(j.leftover), Unified: account.Unified(j.unified)}
	switch o.Unified {
	case account.UnifiedAuto, account.UnifiedYes, account.UnifiedNo:
		return o, nil
	}
	return o, usagef("--unified %s: must be auto, yes or no", j.unified)
}

// parseFormat is the value of --format, or json with --json.
func parseFormat(name string, json bool) (report.Format, error) {
	if json {
		return report.JSON, nil
	}
	format, err := report.ParseFormat(name)
	if err != nil {
		return "", usagef("--format %s: no such format%s", name, suggest(name, formatNames()))
	}
	return format, nil
}
