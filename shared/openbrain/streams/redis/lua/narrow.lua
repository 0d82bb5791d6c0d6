-- Stands before the scripts that copy entries.
-- Lua passes no more values to a command: readers look at this one field, and any other goes to the dead letters.
local WIDEST, FIELD = 7000, '__data__'
local function narrow(fields)
  if #fields <= WIDEST then return fields end
  local kept = {}
  for i = 1, #fields, 2 do
    if fields[i] == FIELD then kept = {FIELD, fields[i + 1]} end
  end
  if #kept > 0 then return kept end
  for i = 1, WIDEST do kept[i] = fields[i] end
  return kept
end
