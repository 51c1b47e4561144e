package config

import (
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	for text, want := range map[string]string{
		"{mlflow: {url: 'http://127.0.0.1:5000'}, prometheus: {address: '127.0.0.1:9464', file: /x/hone.prom}}": "",
		"{prometheus: {address: '[::1]:0'}}":                       "",
		"{prometheus: {address: 'localhost:1'}}":                   "",
		"{prometheus: {address: '0.0.0.0:9464'}}":                  "metrics.prometheus.address",
		"{prometheus: {address: ':9464'}}":                         "metrics.prometheus.address",
		"{prometheus: {address: '127.0.0.1'}}":                     "metrics.prometheus.address",
		"{prometheus: {file: hone.txt}}":                           "metrics.prometheus.file",
		"{mlflow: {url: '127.0.0.1:5000'}}":                        "metrics.mlflow.url",
		"{mlflow: {url: 'http://a:b@127.0.0.1:5000'}}":             "metrics.mlflow.url",
		"{mlflow: {url: 'http://127.0.0.1:5000', experiment: ''}}": "metrics.mlflow.experiment",
		"{wandb: {mode: on}}":                                      "metrics.wandb.mode",
		"{target: 1.5}":                                            "metrics.target",
	} {
		_, err := Parse("hone.yaml", []byte("metrics: "+text+"\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
