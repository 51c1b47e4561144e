package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/serve/local"
)

// A model that a verb serves to itself, as chat does, holds what hone serve holds where model.context is open: as much
// as the adapter was trained in, else 1024 tokens.
func TestServedModelsHoldWhatServeHolds(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	c := config.Default()
	c.Model.Base, c.Engine.Backend = "toy.gguf", "go"
	served, err := local.OpenServed(toyApp(&bytes.Buffer{}, nil).Host, c, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	w := httptest.NewRecorder()
	served.Handler.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/v1/models", nil))
	if !strings.Contains(w.Body.String(), `"max_model_len":1024`) {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
