package logins

import (
	"context"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxCode is the maximum length of a code in bytes: a recovery code with some spaces.
const maxCode = 64

// factorProof is the body of requests about a second factor.
type factorProof struct {
	Current string `json:"current_password"`
	Code    string `json:"code"`
}

// factors returns the operations of the second factor of users (REFERENCE.md, 3.9). None can be a dry
// run, which would confirm a right code without an audit log entry.
func (l *logins) factors() []feature.Operation {
	const path = "/users/{id}/totp"
	owner, password := auth.Permission{Owner: true}, openapi.Required("current_password", openapi.BoundedString(1, auth.MaxPasswordBytes))
	code := openapi.Required("code", openapi.BoundedString(1, maxCode))
	codes := []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("RecoveryCodes",
		openapi.Required("recovery_codes", openapi.Array(openapi.String("Each replaces one code of the app. They are shown once."), auth.RecoveryCodes, auth.RecoveryCodes)))}}
	of := func(method, path string, access auth.Permission, doc openapi.Operation, handle func(context.Context, *feature.Request) (*feature.Response, error)) feature.Operation {
		doc.Method, doc.Path = method, path
		doc.Errors = append(doc.Errors, http.StatusNotFound, http.StatusConflict)
		return feature.Operation{Operation: doc, Resource: "users", Does: records.RouteChange, Access: access, Handle: handle}
	}
	return []feature.Operation{
		of("POST", path, owner, openapi.Operation{
			ID: "startTOTP", Summary: "Begin to set up the second factor: get a secret for an authenticator app",
			Body: openapi.Request("TOTPStart", password),
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("TOTPSecret",
				openapi.Required("secret", openapi.String("In base32. It is shown once.")),
				openapi.Required("url", openapi.String("The otpauth:// URL of the secret, to be shown as a QR code.")))}},
		}, feature.WithBody(l.startTOTP)),
		of("PUT", path, owner, openapi.Operation{
			ID: "enableTOTP", Summary: "Turn on the second factor with a code of the app, and get recovery codes",
			Body: openapi.Request("TOTPCode", code), Responses: codes,
		}, feature.WithBody(l.enableTOTP)),
		of("DELETE", path, auth.Permission{}, openapi.Operation{
			ID: "disableTOTP", OptionalBody: true, Summary: "Turn off the second factor; for another user, who has lost the device, this ends their sessions",
			Body: openapi.Request("TOTPProof", openapi.Optional("current_password", openapi.String("Required for one's own; not for that of another user.")),
				openapi.Optional("code", openapi.String("Required for one's own: of the app, or a recovery code."))),
			Responses: confirmed(),
		}, l.disableFactor()),
		of("POST", path+"/recovery-codes", owner, openapi.Operation{
			ID: "replaceRecoveryCodes", Summary: "Replace the recovery codes; the old ones are void",
			Body: openapi.Request("RecoveryCodesProof", password, code), Responses: codes,
		}, feature.WithBody(l.replaceRecoveryCodes)),
	}
}

func (l *logins) startTOTP(ctx context.Context, r *feature.Request, sent struct {
	Current string `json:"current_password"`
},
) (*feature.Response, error) {
	if err := notEmpty("current_password", sent.Current); err != nil {
		return nil, err
	}
	secret, url, err := l.StartTOTP(ctx, l.account(r), sent.Current)
	if err != nil {
		return nil, err
	}
	return feature.OK(struct {
		httpx.Confirmation
		Secret string `json:"secret"`
		URL    string `json:"url"`
	}{httpx.Confirm("Send a code of the app with PUT to turn on the second factor"), secret, url}), nil
}

func (l *logins) enableTOTP(ctx context.Context, r *feature.Request, sent struct {
	Code string `json:"code"`
},
) (*feature.Response, error) {
	q, err := l.withCode(r, sent.Code)
	if err != nil {
		return nil, err
	}
	codes, err := l.EnableTOTP(ctx, q)
	if err != nil {
		return nil, err
	}
	return recovery("Second factor turned on", codes), nil
}

func (l *logins) replaceRecoveryCodes(ctx context.Context, r *feature.Request, sent factorProof) (*feature.Response, error) {
	q, err := l.withCode(r, sent.Code, "current_password", sent.Current)
	if err != nil {
		return nil, err
	}
	codes, err := l.ReplaceRecoveryCodes(ctx, q, sent.Current)
	if err != nil {
		return nil, err
	}
	return recovery("Recovery codes replaced", codes), nil
}

// disableFactor returns the handler that turns off a second factor. Without a body it is that of another user.
func (l *logins) disableFactor() func(context.Context, *feature.Request) (*feature.Response, error) {
	own := feature.WithBody(l.disableTOTP)
	return func(ctx context.Context, r *feature.Request) (*feature.Response, error) {
		if r.HTTP.ContentLength == 0 && !isSender(r, strings.ToLower(r.HTTP.PathValue("id"))) {
			return l.disableTOTP(ctx, r, factorProof{})
		}
		return own(ctx, r)
	}
}

// isSender reports whether a user is the sender of a request.
func isSender(r *feature.Request, id string) bool { return r.Inventory.Account().Identity.UserID == id }

func (l *logins) disableTOTP(ctx context.Context, r *feature.Request, sent factorProof) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	q := l.account(r)
	if isSender(r, id) {
		if q, err = l.withCode(r, sent.Code, "current_password", sent.Current); err != nil {
			return nil, err
		}
	} else if sent != (factorProof{}) {
		return nil, records.Refuse("current_password", records.NotAllowed("for the second factor of another user: send no body"))
	}
	if err := l.DisableTOTP(ctx, q, id, sent.Current); err != nil {
		return nil, err
	}
	r.Inventory.Forget(id)
	return confirm("Second factor turned off"), nil
}

// withCode returns the request with a code, after refusing an empty or overlong one, and other empty
// members, given as name, value.
func (l *logins) withCode(r *feature.Request, code string, more ...string) (*accounts.Request, error) {
	if err := notEmpty(append(more, "code", code)...); err != nil {
		return nil, err
	}
	q := l.account(r)
	q.Code = code
	return q, checkCode(code)
}

func checkCode(code string) error {
	if len(code) > maxCode {
		return records.Refuse("code", records.Wrong("too_long", "is too long: send the code of the app, or a recovery code"))
	}
	return nil
}

func recovery(message string, codes []string) *feature.Response {
	return feature.OK(struct {
		httpx.Confirmation
		Codes []string `json:"recovery_codes"`
	}{httpx.Confirm(message), codes})
}
