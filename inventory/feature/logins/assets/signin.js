// The second step of a sign-in: the browser keeps name and password while it asks for the code.
"use strict";
(() => {
  let typed = "";
  document.body.addEventListener("htmx:beforeRequest", (e) => { if (e.target.matches("[data-signin]")) typed = e.target.elements.password.value; });
  document.body.addEventListener("htmx:afterSwap", () => {
    const form = document.querySelector("[data-signin]"), code = form?.elements.code;
    if (code) {
      form.elements.password.value = typed;
      form.querySelectorAll("[data-first]").forEach((f) => { f.hidden = true; });
      code.focus();
    }
    typed = "";
  });
})();
