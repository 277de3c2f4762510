package redistest

import (
	"testing"
	"testing/synctest"
)

func TestALongPipelineDoesNotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := NewSim(t).Client()
		pipe := rdb.Pipeline()
		for range 5000 {
			pipe.Set(t.Context(), "a key of some length, for the buffers to be full", "x", 0)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
