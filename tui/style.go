package tui

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/gpumem/gpumem/tracer/record"
)

// Colors is how many colours a terminal shows.
type Colors int

// The depths of colour.
const (
	NoColors Colors = iota
	Colors16
	Colors256
	TrueColors
)

// Appearance is what a terminal can show.
type Appearance struct {
	Colors Colors
	Light  bool // dark text on a light ground
	ASCII  bool // nothing beyond ASCII
}

// AppearanceOf reads the environment: NO_COLOR, COLORTERM, TERM, COLORFGBG and
// the locale. A terminal that says nothing is dark. The console of Linux knows
// UTF-8, and its fonts have few of the characters that charts are made of.
func AppearanceOf(getenv func(string) string) Appearance {
	term := getenv("TERM")
	a := Appearance{Colors: Colors16}
	switch colorTerm := strings.ToLower(getenv("COLORTERM")); {
	case getenv("NO_COLOR") != "" || term == "dumb" || term == "":
		a.Colors = NoColors
	case colorTerm == "truecolor" || colorTerm == "24bit" || strings.HasSuffix(term, "-direct") ||
		strings.Contains(term, "kitty") || strings.Contains(term, "ghostty") ||
		strings.Contains(term, "alacritty") || strings.Contains(term, "wezterm"):
		a.Colors = TrueColors
	case strings.Contains(term, "256color") || colorTerm != "":
		a.Colors = Colors256
	case strings.HasPrefix(term, "vt1") || strings.HasPrefix(term, "vt2") || strings.HasSuffix(term, "-mono"):
		a.Colors = NoColors
	}
	if i := strings.LastIndexByte(getenv("COLORFGBG"), ';'); i >= 0 {
		switch getenv("COLORFGBG")[i+1:] {
		case "7", "15":
			a.Light = true
		}
	}
	a.ASCII = term == "dumb" || term == "linux" || !utf8Locale(getenv)
	return a
}

// utf8Locale reports whether the locale's characters are UTF-8: the first of
// the three variables that is set decides.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// token is what a text means; panels know tokens, never colours.
type token int

const (
	plain token = iota
	dim
	strong
	title
	focus
	good
	warn
	bad
	hotkey
	selected
	live
	idle
	untracked
	host
	tokenCount
)

// accountTokens are the tokens of the first four series.
var accountTokens = [...]token{live, idle, untracked, host}

// accountNames are their words.
var accountNames = [...]record.Account{
	record.AccountLive, record.AccountIdle, record.AccountUntracked, record.AccountHost,
}

// accountFills tell the accounts apart without colour.
var accountFills = [...]string{"█", "▓", "▒", "░"}

// fill is what an account's part of a chart is filled with: where there are colours
// they tell the accounts apart, and the area is plain.
func (s *styles) fill(of series) string {
	if s.open[live] != "" {
		return accountFills[0]
	}
	return accountFills[of]
}

// shade is one colour at the three depths.
type shade = lipgloss.CompleteColor

func color(trueColor, ansi256, ansi string) shade {
	return shade{TrueColor: trueColor, ANSI256: ansi256, ANSI: ansi}
}

// theme is the one home of colours: on dark, on light. The accounts' hues are
// apart for every common colour blindness, and their fills differ as well.
var theme = [tokenCount]struct {
	dark, light           shade
	bold, faint, reversed bool
}{
	plain:     {},
	dim:       {dark: color("#8a8f98", "245", "7"), light: color("#63666d", "241", "8")},
	strong:    {bold: true},
	title:     {dark: color("#9fb8d9", "110", "6"), light: color("#1f4e79", "24", "4"), bold: true},
	focus:     {dark: color("#ffffff", "231", "15"), light: color("#000000", "16", "0"), bold: true},
	good:      {dark: color("#7fc97f", "114", "2"), light: color("#1a7a2e", "28", "2")},
	warn:      {dark: color("#f2c14e", "221", "3"), light: color("#8a5a00", "94", "3")},
	bad:       {dark: color("#ff7a6b", "209", "1"), light: color("#b3200f", "124", "1"), bold: true},
	hotkey:    {dark: color("#c9d4e3", "252", "15"), light: color("#1f2328", "235", "0"), bold: true},
	selected:  {reversed: true},
	live:      {dark: color("#e69f00", "214", "3"), light: color("#b36b00", "130", "3")},
	idle:      {dark: color("#56b4e9", "74", "6"), light: color("#0b6fa4", "25", "6")},
	untracked: {dark: color("#cc79a7", "175", "5"), light: color("#9b3f74", "126", "5")},
	host:      {dark: color("#35b392", "36", "2"), light: color("#00735a", "29", "2")},
}

// styles are the tokens as a terminal's escape sequences.
type styles struct {
	open, close [tokenCount]string
	ascii       bool
}

func newStyles(a Appearance) *styles {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile([...]termenv.Profile{termenv.Ascii, termenv.ANSI, termenv.ANSI256,
		termenv.TrueColor}[a.Colors])
	r.SetHasDarkBackground(!a.Light)
	s := &styles{ascii: a.ASCII}
	if a.Colors == NoColors {
		return s
	}
	for t, th := range theme {
		style := r.NewStyle().Bold(th.bold).Faint(th.faint).Reverse(th.reversed)
		shade := th.dark
		if a.Light {
			shade = th.light
		}
		if shade != (lipgloss.CompleteColor{}) {
			style = style.Foreground(shade)
		}
		s.open[t], s.close[t], _ = strings.Cut(style.Render("x"), "x")
	}
	return s
}

// paint gives a text its meaning's looks.
func (s *styles) paint(t token, text string) string {
	if text == "" || s.open[t] == "" {
		return text
	}
	return s.open[t] + text + s.close[t]
}
