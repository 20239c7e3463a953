"use strict";
{
	const main = document.getElementById("docs");
	const ui = window.SwaggerUIBundle({
		url: new URL(main.dataset.document, document.baseURI).href,
		domNode: main,
		deepLinking: true,
		docExpansion: "list",
		defaultModelsExpandDepth: 0,
		filter: true,
		validatorUrl: null, // nobody else is told of the document
		queryConfigEnabled: false, // the address of the page must not choose another one
		presets: [window.SwaggerUIBundle.presets.apis],
	});

	// What Swagger UI leaves out for people who do not see the page, or use no mouse. It draws parts of the page again and again.
	const complete = () => {
		const name = (e) => e.closest("[data-param-name]")?.dataset.paramName ?? (e.closest(".opblock-section-request-body") ? "Request body" : e.id === "servers" ? "Server" : "Value");
		for (const e of main.querySelectorAll("select, textarea, input")) if ((!e.labels?.length || e.id === "servers") && !e.ariaLabel) e.ariaLabel = name(e);
		for (const e of main.querySelectorAll("button a[href]")) e.removeAttribute("href"); // a click opens what the button does
		for (const e of main.querySelectorAll("pre:not([tabindex])")) e.tabIndex = 0; // it scrolls
		for (const e of main.querySelectorAll(".close-modal:not([aria-label])")) e.ariaLabel = "Close";
		for (const e of main.querySelectorAll(".auth-btn-wrapper [aria-label]")) e.removeAttribute("aria-label"); // it has another text
	};
	new MutationObserver(complete).observe(main, { childList: true, subtree: true });

	// bearer returns the name of the scheme of the document that takes a bearer token.
	const bearer = () => {
		const schemes = ui.specSelectors.specJson().toJS().components?.securitySchemes ?? {};
		return Object.keys(schemes).find((name) => schemes[name].scheme === "bearer");
	};

	// logIn exchanges what the form has for a token. Only this page has the token, until it is closed.
	const logIn = async (form, status) => {
		const sent = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
		const response = await fetch(new URL(form.dataset.login, document.baseURI), {
			method: "POST",
			headers: { "Content-Type": "application/json" },
			credentials: "omit", // no cookie: it would outlive the page
			body: JSON.stringify(sent),
		});
		const answer = await response.json();
		if (!response.ok || !answer.token) {
			throw new Error(answer.message || "The login failed");
		}
		const scheme = bearer();
		if (!scheme) {
			throw new Error("The document has not been loaded: try again");
		}
		ui.preauthorizeApiKey(scheme, answer.token);
		form.reset();
		document.getElementById("credentials").hidden = true;
		status.textContent = `Logged in as ${sent.username}: requests from this page send your token.`;
	};

	const form = document.getElementById("login");
	if (form) {
		const status = form.querySelector("[role=status]");
		form.hidden = false;
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			logIn(form, status).catch((error) => {
				status.textContent = error.message;
			});
		});
	}
}
