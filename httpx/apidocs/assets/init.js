"use strict";
{
	const main = document.getElementById("docs");
	window.SwaggerUIBundle({
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
}
