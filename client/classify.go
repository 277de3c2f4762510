package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// serverStates are the error codes with which a server says that it cannot work
// at present, though nothing is wrong with the request.
var serverStates = map[string]bool{
	"LOADING": true, "READONLY": true, "CLUSTERDOWN": true, "MASTERDOWN": true,
	"TRYAGAIN": true, "BUSY": true, "NOREPLICAS": true, "MISCONF": true, "OOM": true,
	"MOVED": true, "ASK": true, "UNKILLABLE": true, "NOQUORUM": true, "FAILOVER": true,
}

// Servers before 7.0 wrap an error inside a script into "ERR Error running script
// (...): @user_script:3: -OOM command not allowed ...".
var wrappedCode = regexp.MustCompile(`@user_script: ?\d+: -?([A-Z]+) `)

// errorCode is the first word of an error reply, by which Redis tells errors apart.
func errorCode(text string) string {
	code, _, _ := strings.Cut(text, " ")
	if code == "ERR" {
		if m := wrappedCode.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return code
}

// permissions are the ACL rules that a Client with the default prefix needs.
const permissions = "+eval +evalsha +@read +@write -@dangerous +time +ping +publish +subscribe ~holdfast:* &holdfast:*"

// remedy is what to do about a refusal, for those whose text leaves that open. A
// server that wants a password takes only short commands before it has got one.
func remedy(code, text string) string {
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case code == "NOAUTH", has("unauthenticated"):
		return ": the server wants a password: set Username and Password in the options of the redis client"
	case code == "WRONGPASS", has("invalid password"):
		return ": check Username and Password in the options of the redis client"
	case code == "NOPERM", has("The user executing the script"), has("ACL failure in script"):
		return ": the user needs, for the default prefix: " + permissions
	}
	return ""
}

// VerdictOf says what an error of the redis client, or nil, tells about the server:
// for those who run commands of their own, such as a probe.
func VerdictOf(err error) Verdict {
	v, _ := classify(err)
	return v
}

// classify turns the error of a command into ErrUnavailable or ErrRefused with
// its reason, and into a verdict on the server.
func classify(err error) (Verdict, error) {
	var answer redis.Error
	switch {
	case err == nil:
		return Healthy, nil
	case errors.Is(err, ErrRefused): // classified before
		return Neutral, err
	case errors.Is(err, ErrUnavailable):
		return Faulty, err
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, errCrowded):
		return Neutral, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, redis.ErrClosed):
		return Neutral, fmt.Errorf("%w: the redis client was closed: %w", ErrUnavailable, err)
	case errors.Is(err, errHookPanic):
		return Neutral, fmt.Errorf("%w: %w", ErrRefused, err)
	case errors.Is(err, ErrInvalid):
		return Neutral, err
	case errors.As(err, &answer):
		code := errorCode(err.Error())
		if text, _, echo := strings.Cut(err.Error(), ", with args beginning"); echo {
			err = errors.New(text) // the arguments name the token
		}
		switch code {
		case "UPGRADE":
			return Healthy, errUpgrade
		case "DOWNGRADE":
			return Healthy, errDowngrade
		case "INVALID":
			return Healthy, invalid("%s", strings.TrimPrefix(err.Error(), "INVALID "))
		}
		if serverStates[code] || strings.Contains(err.Error(), "max number of clients") {
			return Faulty, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return Neutral, fmt.Errorf("%w: %w%s", ErrRefused, err, remedy(code, err.Error()))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// It is not the caller's context that ended (a dial that timed out matches
		// too), so only the text gets out.
		return Faulty, fmt.Errorf("%w: no connection in time (%s)", ErrUnavailable, err)
	default:
		return Faulty, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}
