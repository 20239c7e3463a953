package httpapi

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
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

// factorRoutes returns the routes of the second factor of users (REFERENCE.md, 3.9). None can be a dry
// run, which would confirm a right code without an audit log entry.
func factorRoutes(users *records.Resource) []route {
	const path = "/users/{id}/totp"
	owner, password := auth.Permission{Owner: true}, openapi.Required("current_password", openapi.BoundedString(1, auth.MaxPasswordBytes))
	code := openapi.Required("code", openapi.BoundedString(1, maxCode))
	recovery := []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("RecoveryCodes",
		openapi.Required("recovery_codes", openapi.Array(openapi.String("Each replaces one code of the app. They are shown once."), auth.RecoveryCodes, auth.RecoveryCodes)))}}
	of := func(method, path string, access auth.Permission, doc openapi.Operation, handle func(*call) error) route {
		doc.Tag = "accounts"
		doc.Errors = append(doc.Errors, http.StatusNotFound, http.StatusConflict)
		return route{method: method, path: path, access: access, resource: users, does: records.RouteChange, operation: operation{doc, handle}}
	}
	return []route{
		of("POST", path, owner, openapi.Operation{
			ID: "startTOTP", Summary: "Begin to set up the second factor: get a secret for an authenticator app",
			Body: openapi.Request("TOTPStart", password),
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("TOTPSecret",
				openapi.Required("secret", openapi.String("In base32. It is shown once.")),
				openapi.Required("url", openapi.String("The otpauth:// URL of the secret, to be shown as a QR code.")))}},
		}, withBody((*call).startTOTP)),
		of("PUT", path, owner, openapi.Operation{
			ID: "enableTOTP", Summary: "Turn on the second factor with a code of the app, and get recovery codes",
			Body: openapi.Request("TOTPCode", code), Responses: recovery,
		}, withBody((*call).enableTOTP)),
		of("DELETE", path, permission(users.Access.Update), openapi.Operation{
			ID: "disableTOTP", OptionalBody: true, Summary: "Turn off the second factor; for another user, who has lost the device, this ends their sessions",
			Body: openapi.Request("TOTPProof", openapi.Optional("current_password", openapi.String("Required for one's own; not for that of another user.")),
				openapi.Optional("code", openapi.String("Required for one's own: of the app, or a recovery code."))),
			Responses: []openapi.Response{confirmed()},
		}, disableTOTP()),
		of("POST", path+"/recovery-codes", owner, openapi.Operation{
			ID: "replaceRecoveryCodes", Summary: "Replace the recovery codes; the old ones are void",
			Body: openapi.Request("RecoveryCodesProof", password, code), Responses: recovery,
		}, withBody((*call).replaceRecoveryCodes)),
	}
}

func (c *call) startTOTP(sent struct {
	Current string `json:"current_password"`
},
) error {
	if err := notEmpty("current_password", sent.Current); err != nil {
		return err
	}
	secret, url, err := c.accounts.Service.StartTOTP(c.r.Context(), c.request(), sent.Current)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(c.w, http.StatusOK, struct {
		httpx.Confirmation
		Secret string `json:"secret"`
		URL    string `json:"url"`
	}{httpx.Confirm("Send a code of the app with PUT to turn on the second factor"), secret, url})
}

func (c *call) enableTOTP(sent struct {
	Code string `json:"code"`
},
) error {
	q, err := c.withCode(sent.Code)
	if err != nil {
		return err
	}
	codes, err := c.accounts.Service.EnableTOTP(c.r.Context(), q)
	if err != nil {
		return err
	}
	return c.sendRecovery("Second factor turned on", codes)
}

func (c *call) replaceRecoveryCodes(sent factorProof) error {
	q, err := c.withCode(sent.Code, "current_password", sent.Current)
	if err != nil {
		return err
	}
	codes, err := c.accounts.Service.ReplaceRecoveryCodes(c.r.Context(), q, sent.Current)
	if err != nil {
		return err
	}
	return c.sendRecovery("Recovery codes replaced", codes)
}

// disableTOTP returns the handler that turns off a second factor. Without a body it is that of
// another user.
func disableTOTP() func(c *call) error {
	own := withBody((*call).disableTOTP)
	return func(c *call) error {
		if c.r.ContentLength == 0 && !c.isSender(strings.ToLower(c.r.PathValue("id"))) {
			return c.disableTOTP(factorProof{})
		}
		return own(c)
	}
}

func (c *call) disableTOTP(sent factorProof) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	q := c.request()
	if c.isSender(id) {
		if q, err = c.withCode(sent.Code, "current_password", sent.Current); err != nil {
			return err
		}
	} else if sent != (factorProof{}) {
		return badField("current_password", records.NotAllowed("for the second factor of another user: send no body"))
	}
	if err := c.accounts.Service.DisableTOTP(c.r.Context(), q, id, sent.Current); err != nil {
		return err
	}
	c.accounts.Forget(id)
	return c.confirm("Second factor turned off")
}

// withCode returns the request with a code, after refusing an empty or overlong one, and other empty
// members, given as name, value.
func (c *call) withCode(code string, more ...string) (*accounts.Request, error) {
	if err := notEmpty(append(more, "code", code)...); err != nil {
		return nil, err
	}
	q := c.request()
	q.Code = code
	return q, checkCode(code)
}

func checkCode(code string) error {
	if len(code) > maxCode {
		return badField("code", records.Wrong("too_long", "is too long: send the code of the app, or a recovery code"))
	}
	return nil
}

func (c *call) sendRecovery(message string, codes []string) error {
	return httpx.WriteJSON(c.w, http.StatusOK, struct {
		httpx.Confirmation
		Codes []string `json:"recovery_codes"`
	}{httpx.Confirm(message), codes})
}
