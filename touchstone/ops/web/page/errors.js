// The view at /errors: not built yet.
{
  routes.push({
    name: "errors", match: /^\/errors$/, title: () => "Errors",
    show: (params, query, root) => root.replaceChildren(h("h1", {}, "Errors"), emptyState("Nothing to show yet.", "")),
  });
}
