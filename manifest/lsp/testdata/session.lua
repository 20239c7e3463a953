-- A session of Neovim with the server: opens a manifest, completes, hovers, fixes and formats, and
-- writes what it saw to LSP_OUTPUT as JSON.
local seen = {}
vim.cmd("edit " .. vim.env.LSP_FILE)
local id = vim.lsp.start_client({ name = "manifest", cmd = { vim.env.LSP_SERVER }, cmd_env = { ASHLAR_LSP_SERVER = "1" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)

local function diagnostics(count)
  vim.wait(20000, function() return #vim.diagnostic.get(0) == count end, 10)
  local list = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(list, { line = d.lnum, from = d.col, to = d.end_col, message = d.message, severity = d.severity })
  end
  return list
end

local function request(method, params)
  local answers, err = vim.lsp.buf_request_sync(0, method, params, 20000)
  if err then error(method .. ": " .. err) end
  if answers[id].err then error(method .. ": " .. answers[id].err.message) end
  return answers[id].result
end

local document = vim.lsp.util.make_text_document_params()

local function at(line, character)
  return { textDocument = document, position = { line = line, character = character } }
end

local function labels(items)
  local list = {}
  for _, item in ipairs(items) do table.insert(list, item.label) end
  return list
end

seen.diagnostics = diagnostics(1)
seen.hover = request("textDocument/hover", at(1, 4)).contents.value

-- Type a new member.
vim.api.nvim_buf_set_lines(0, 1, 1, false, { '  "pack' })
local items = request("textDocument/completion", at(1, 7))
seen.keys = labels(items)
for _, item in ipairs(items) do
  if item.label == "packages" then vim.lsp.util.apply_text_edits({ item.textEdit }, 0, "utf-16") end
end
seen.completed = vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]
vim.api.nvim_buf_set_lines(0, 1, 2, false, { '  "packages": [{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": ""}}],' })
seen.values = labels(request("textDocument/completion", at(1, 99)))
vim.api.nvim_buf_set_lines(0, 1, 2, false, {})

-- Fix the problem, and format.
vim.wait(20000, function() local d = vim.diagnostic.get(0) return #d == 1 and d[1].lnum == 2 and d[1].severity == 2 end, 10)
seen.before = diagnostics(1)
local place = seen.before[1]
local actions = request("textDocument/codeAction", {
  textDocument = document,
  range = { start = { line = place.line, character = place.from }, ["end"] = { line = place.line, character = place.from } },
  context = { diagnostics = {} },
})
seen.actions = {}
for _, action in ipairs(actions) do
  table.insert(seen.actions, action.title)
  vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
end
seen.after = diagnostics(0)
vim.lsp.util.apply_text_edits(request("textDocument/formatting", { textDocument = document, options = { tabSize = 2, insertSpaces = true } }), 0, "utf-16")
seen.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")

vim.lsp.stop_client(id)
seen.stopped = vim.wait(20000, function() return vim.lsp.client_is_stopped(id) end, 10)
local f = io.open(vim.env.LSP_OUTPUT, "w")
f:write(vim.json.encode(seen))
f:close()
vim.cmd("qall!")
