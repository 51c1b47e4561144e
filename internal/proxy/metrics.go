package proxy

const (
	requests         = "hone:proxy_requests_total"
	requestTime      = "hone:proxy_request_seconds"
	decisions        = "hone:proxy_decisions_total"
	refusedRequests  = "hone:requests_refused_total"
	upstreamRequests = "hone:upstream_requests_total"
	upstreamHeadTime = "hone:upstream_head_seconds"
	promptTokens     = "hone:upstream_prompt_tokens_total"
	completionTokens = "hone:upstream_completion_tokens_total"
	unknownUsage     = "hone:upstream_usage_unknown_total"
	upstreamUSD      = "hone:upstream_usd_total"
)

// metricsHelp says what each metric is.
func metricsHelp() map[string]string {
	return map[string]string{
		requests: "Requests by what became of them.", requestTime: "Seconds from a request to its answer's end.",
		decisions:        "Decisions of the mode.",
		refusedRequests:  "Requests that were answered with an error of the proxy's, by its code.",
		upstreamRequests: "Requests to the upstream, by the status of its answer.",
		upstreamHeadTime: "Seconds until the upstream's answer began.",
		promptTokens:     "Tokens of prompts, as the upstream counts them.",
		completionTokens: "Tokens of completions, as the upstream counts them.",
		unknownUsage:     "Answers of the upstream that do not say what they used: streams without include_usage.",
		upstreamUSD:      "US dollars, by the prices given for the upstream.",
	}
}
