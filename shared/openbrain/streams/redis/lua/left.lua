-- Stands before the scripts that feed or drop a replay.
local function left(stream, group)
  -- Entries that the group was not given or has in hand; nil where there is no such group.
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  if groups.err then return nil end
  for _, flat in ipairs(groups) do
    local about = {}
    for i = 1, #flat, 2 do about[flat[i]] = flat[i + 1] end
    if about.name == group then
      local lag = about.lag or redis.call('XLEN', stream)
      -- A server that was restarted, or has taken over, may still count what was read before as unread.
      local waits = redis.pcall('XRANGE', stream, '(' .. about['last-delivered-id'], '+', 'COUNT', 1)
      if waits.err or #waits == 0 then lag = 0 end  -- an error: no id is behind the last possible one
      return lag + about.pending, about['last-delivered-id']
    end
  end
end

local function ready(stream, states, group)
  if left(stream, group) == nil then
    redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
    redis.call('DEL', states)
  end
end
