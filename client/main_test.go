package client_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/redistest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
