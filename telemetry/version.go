package telemetry

import (
	"runtime/debug"
	"sync"
)

// scope is the name of the instrumentation scope.
const scope = "github.com/holdfast-go/holdfast"

// version is that of this module in the program, as far as the program knows it.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == scope {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == scope {
			return m.Version
		}
	}
	return ""
})
