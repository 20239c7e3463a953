// Package accounts has the rules of the users of an inventory: logins, passwords, resets, what
// throttles guesses, and which rights hold in the transaction of a change. It knows no transport;
// inventory/httpapi serves it.
//
//	engine := records.New(store, nil)
//	hasher, err := auth.NewHasher(nil)
//	admin, password, err := accounts.FirstAdmin(ctx, engine, hasher, "admin", password)
//	service, err := accounts.New(engine, hasher, &accounts.Options{Notify: notify})
//	defer service.Close()
//	who, err := service.Login(ctx, &accounts.Request{Network: network}, "admin", password)
//
// A [Request] says who sends it and from where. Errors are those of package records and of package
// auth, or a [*TooManyError].
//
// # Rights
//
// A program that changes records for a user does so through [Service.Changes], or
// [Service.UserChanges] for users: they read the account of the sender in the transaction of the
// change, so that no right is used after it has been removed, in any process. [Service.Check] does
// the same before a read.
//
// # Roles and API tokens
//
// A program defines roles of its own by their scopes:
//
//	schema, err := inventory.NewSchema(inventory.Roles("collector"))
//	service, err := accounts.New(engine, hasher, &accounts.Options{
//		Roles: map[auth.Role][]string{"collector": {"metrics:write", "devices:read"}},
//	})
//
// [Service.CreateToken] creates an API token of a user, with scopes that restrict the user's role.
// [Service.AuthenticateToken] returns the identity of who sends one. It is refused for changes of how users
// log in: an API token that is stolen leads to no login.
//
// # Second factor
//
// [Service.StartTOTP] and [Service.EnableTOTP] turn on codes of an authenticator app for the sender;
// [Service.Login] then needs Request.Code. [Service.DisableTOTP] turns them off, for another user too.
//
// # Identity providers
//
// [Service.LoginExternal] logs in a user whom a provider, such as one of package auth/oidc, has
// authenticated: known by issuer and subject, and created or linked at the first login if
// [ExternalOptions] say so.
//
// # Setting up
//
// [KeyUsernames], [FirstAdmin], [CreateSigningKey], [SigningKeys] and [RotateSigningKey] are for programs
// that start a server, [ResetAdmin] for an admin who is locked out. [States] tells an authenticator such as
// jwt.Guard the state of accounts.
//
// # Design notes
//
// Failed attempts to guess a password are counted per account and per network, in the database, since a guesser would
// else have the attempts of each process, and more after each restart. They are
// checked before the password is verified and again after it, so that a hundred concurrent attempts
// learn no more than sequential ones. A lock that only an admin can open would let strangers lock
// users out.
//
// Wrong codes of a second factor are counted in its record, in the transaction that checks the code: a
// code has six digits only, so counters of each process would not do. Only somebody with the right
// password gets that far, so strangers can't use up the attempts. The window of 24 hours does not
// restart with a right code, or logins of the user would give a guesser new attempts.
//
// A requested reset is only counted and queued before the response: looking up the address, storing a code
// and sending it take a time that reveals whether the address is known, the more so under load. So [Service]
// works in the background, and has a Close.
//
// An account that a change depends on is locked with a lock that readers share (records.Lock); changes
// of users run one at a time (records.Serialize), because two admins who change each other would
// deadlock or remove the last two. The role remains that of the login.
//
// An API token outlives a new password, as with other services: programs would fail at a time that nobody
// chose. It has no other effect on the account, and ends with it.
package accounts
