package mcp

import (
	"errors"
	"testing"
	"time"
)

// A server that is silent at the handshake costs ConnectTimeout in all, and one at a URL, where nothing is downloaded,
// two probes.
func TestSilenceIsWaitedForOnce(t *testing.T) {
	l := &opener{o: Options{ConnectTimeout: 60 * time.Second, ProbeTimeout: 10 * time.Second}}
	for _, tc := range []struct {
		via  string
		err  error
		want time.Duration
	}{
		{viaStdio, noAnswer(10 * time.Second), 50 * time.Second},
		{viaHTTP, noAnswer(10 * time.Second), 10 * time.Second},
		{viaStdio, errors.New("no such method"), 60 * time.Second},
		{viaHTTP, errors.New("no such method"), 60 * time.Second},
	} {
		if got := l.legacyLimit(tc.via, tc.err); got != tc.want {
			t.Errorf("%s after %v: %s, want %s", tc.via, tc.err, got, tc.want)
		}
	}
}
