// The view at /runs: not built yet.
{
  routes.push({
    name: "runs", match: /^\/runs$/, title: () => "Runs",
    show: (params, query, root) => root.replaceChildren(h("h1", {}, "Runs"), emptyState("Nothing to show yet.", "")),
  });
}
