package inventory

// PermissionDenied is what a caller gets who may not do what they ask for, in the words of the
// specification.
func PermissionDenied() *Error {
	return &Error{Kind: Forbidden, Message: "Forbidden: You do not have permission to perform this action"}
}

// CheckOwnerChange says whether the owner of a record may change it from before to after: they may
// not change fields that are for admins. The error is [PermissionDenied], with the fields.
func CheckOwnerChange(before, after Record) error {
	r, err := described(after)
	if err != nil {
		return err
	}
	var fields []FieldError
	for _, f := range r.fields {
		if f.AdminOnly && !f.same(f.valueOrNil(before), f.valueOrNil(after)) {
			fields = append(fields, FieldError{f.Name, "can be changed by an admin only"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	e := PermissionDenied()
	e.Fields = fields
	return e
}
