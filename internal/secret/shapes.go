package secret

import "strings"

// shape is a form that the secrets of a service have.
type shape struct {
	prefix string
	least  int // bytes behind the prefix
	name   string
	// bounded shapes begin a word: their prefix also stands inside words.
	bounded bool
	// mixed shapes have a digit: letters alone are words.
	mixed bool
	upper bool // capitals and digits only
	hex   bool
}

// shapes are by the first byte of their prefixes. Lengths are those that the
// services document, or less, so that a key cut short is found as well.
func shapesOf(first byte) []shape {
	switch first {
	case 'A':
		return shapesA[:]
	case 'd':
		return shapesD[:]
	case 'g':
		return shapesG[:]
	case 'h':
		return shapesH[:]
	case 'n', 'p', 'r':
		return shapesNPR[:]
	case 's', 'S':
		return shapesS[:]
	case 'x', 'y', 'e', 'w', 'l', 'G', 'P', 't', 'v', 'N', 'B', 'o':
		return shapesRest[:]
	}
	return nil
}

var (
	shapesA = [...]shape{
		{prefix: "AKIA", least: 16, name: "AWS access key", bounded: true, mixed: true, upper: true},
		{prefix: "ASIA", least: 16, name: "AWS access key", bounded: true, mixed: true, upper: true},
		{prefix: "ABIA", least: 16, name: "AWS access key", bounded: true, mixed: true, upper: true},
		{prefix: "ACCA", least: 16, name: "AWS access key", bounded: true, mixed: true, upper: true},
		{prefix: "AIza", least: 30, name: "Google API key"},
		{prefix: "ATATT3", least: 20, name: "Atlassian token"},
		{prefix: "AGE-SECRET-KEY-1", least: 20, name: "age key"},
		{prefix: "AKCp", least: 40, name: "Artifactory key", bounded: true, mixed: true},
	}
	shapesD = [...]shape{
		{prefix: "dop_v1_", least: 20, name: "DigitalOcean token"},
		{prefix: "doo_v1_", least: 20, name: "DigitalOcean token"},
		{prefix: "dor_v1_", least: 20, name: "DigitalOcean token"},
		{prefix: "dapi", least: 32, name: "Databricks token", bounded: true, hex: true},
		{prefix: "dckr_pat_", least: 16, name: "Docker token"},
	}
	shapesG = [...]shape{
		{prefix: "ghp_", least: 16, name: "GitHub token"},
		{prefix: "gho_", least: 16, name: "GitHub token"},
		{prefix: "ghu_", least: 16, name: "GitHub token"},
		{prefix: "ghs_", least: 16, name: "GitHub token"},
		{prefix: "ghr_", least: 16, name: "GitHub token"},
		{prefix: "github_pat_", least: 16, name: "GitHub token"},
		{prefix: "glpat-", least: 16, name: "GitLab token"},
		{prefix: "gldt-", least: 16, name: "GitLab token", bounded: true},
		{prefix: "glrt-", least: 16, name: "GitLab token", bounded: true},
		{prefix: "glcbt-", least: 16, name: "GitLab token", bounded: true},
		{prefix: "glsa_", least: 20, name: "Grafana token"},
		{prefix: "glc_", least: 32, name: "Grafana token", bounded: true},
		{prefix: "gsk_", least: 30, name: "Groq key", bounded: true, mixed: true},
	}
	shapesH = [...]shape{
		{prefix: "hf_", least: 20, name: "Hugging Face token", bounded: true},
		{prefix: "hvs.", least: 20, name: "Vault token", bounded: true},
		{prefix: "hvb.", least: 20, name: "Vault token", bounded: true},
	}
	shapesNPR = [...]shape{
		{prefix: "npm_", least: 24, name: "npm token", bounded: true, mixed: true},
		{prefix: "nvapi-", least: 20, name: "NVIDIA API key"},
		{prefix: "pypi-", least: 24, name: "PyPI token", bounded: true, mixed: true},
		{prefix: "pul-", least: 32, name: "Pulumi token", bounded: true, hex: true},
		{prefix: "pplx-", least: 32, name: "Perplexity key", bounded: true},
		{prefix: "rk_live_", least: 10, name: "Stripe key"},
		{prefix: "rk_test_", least: 10, name: "Stripe key"},
		{prefix: "r8_", least: 32, name: "Replicate token", bounded: true},
		{prefix: "rubygems_", least: 32, name: "RubyGems key", hex: true},
		{prefix: "rpa_", least: 32, name: "RunPod key", bounded: true, mixed: true},
	}
	shapesS = [...]shape{
		{prefix: "sk-proj-", least: 16, name: "OpenAI key"},
		{prefix: "sk-svcacct-", least: 16, name: "OpenAI key"},
		{prefix: "sk-ant-", least: 16, name: "Anthropic key"},
		{prefix: "sk-or-v1-", least: 16, name: "OpenRouter key"},
		{prefix: "sk_live_", least: 10, name: "Stripe key"},
		{prefix: "sk_test_", least: 10, name: "Stripe key"},
		{prefix: "sk-", least: 20, name: "API key", bounded: true, mixed: true},
		{prefix: "SG.", least: 30, name: "SendGrid key", bounded: true, mixed: true},
		{prefix: "SK", least: 32, name: "Twilio key", bounded: true, hex: true},
		{prefix: "shpat_", least: 16, name: "Shopify token"},
		{prefix: "shpca_", least: 16, name: "Shopify token"},
		{prefix: "shppa_", least: 16, name: "Shopify token"},
		{prefix: "shpss_", least: 16, name: "Shopify token"},
		{prefix: "sntrys_", least: 20, name: "Sentry token"},
		{prefix: "sbp_", least: 32, name: "Supabase token", bounded: true, hex: true},
	}
	shapesRest = [...]shape{
		{prefix: "xoxb-", least: 10, name: "Slack token"},
		{prefix: "xoxa-", least: 10, name: "Slack token"},
		{prefix: "xoxp-", least: 10, name: "Slack token"},
		{prefix: "xoxr-", least: 10, name: "Slack token"},
		{prefix: "xoxs-", least: 10, name: "Slack token"},
		{prefix: "xoxe-", least: 10, name: "Slack token"},
		{prefix: "xapp-", least: 16, name: "Slack token", bounded: true, mixed: true},
		{prefix: "xai-", least: 40, name: "xAI key", bounded: true, mixed: true},
		{prefix: "ya29.", least: 16, name: "Google token", bounded: true},
		{prefix: "eyJ", least: 20, name: "JSON web token"},
		{prefix: "whsec_", least: 20, name: "webhook secret", bounded: true},
		{prefix: "lin_api_", least: 20, name: "Linear key"},
		{prefix: "GOCSPX-", least: 16, name: "Google client secret"},
		{prefix: "PMAK-", least: 20, name: "Postman key", bounded: true},
		{prefix: "tskey-", least: 16, name: "Tailscale key", bounded: true, mixed: true},
		{prefix: "NRAK-", least: 20, name: "New Relic key", bounded: true},
		{prefix: "ops_eyJ", least: 20, name: "1Password token"},
	}
)

// leastShape is the shortest word that has a shape, in bytes.
const leastShape = 15

// shapeIn finds the first secret by its shape in the word s[from:to] of name
// bytes, and returns where it begins and ends.
func shapeIn(s string, from, to int) (at, end int, name string) {
	for i := from; i+leastShape <= to; i++ {
		for _, p := range shapesOf(s[i]) {
			if s[i+1] != p.prefix[1] || !strings.HasPrefix(s[i:to], p.prefix) {
				continue
			}
			if e := p.match(s, i, to); e > 0 {
				return i, e, p.name
			}
		}
	}
	return 0, 0, ""
}

// match is the end of the secret that begins at i, or 0.
func (p *shape) match(s string, i, to int) int {
	if p.bounded && !wordBegins(s, i) {
		return 0
	}
	body := i + len(p.prefix)
	end, digit := body, false
	for ; end < to; end++ {
		c := s[end]
		digit = digit || isDigit(c)
		if p.hex && !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') || p.upper && !isDigit(c) &&
			!isUpper(c) {
			break
		}
	}
	if end-body < p.least || (p.mixed || p.hex) && !digit {
		return 0
	}
	if p.name == "JSON web token" && strings.Count(s[body:end], ".") < 2 {
		return 0
	}
	if (p.hex || p.upper) && end < to && s[end] != '.' && s[end] != '-' {
		return 0 // a longer word
	}
	return to // what is glued to a secret may be the rest of one
}

// wordBegins reports whether a word begins at i; \n in text that is quoted once
// more ends one, too.
func wordBegins(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	if i > 1 && s[i-2] == '\\' && (c == 'n' || c == 't' || c == 'r') {
		return true
	}
	return !isLetter(c) && !isDigit(c)
}
