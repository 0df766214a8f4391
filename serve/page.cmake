# page.html as a string:  cmake -DIN=page.html -DOUT=page.cc -P page.cmake
file(READ ${IN} html)
file(WRITE ${OUT} "#include <string_view>\n\nnamespace sardonyx::serve {\nstd::string_view page_html();\nstd::string_view page_html() {\n  return R\"sdx_page(")
file(APPEND ${OUT} "${html}")
file(APPEND ${OUT} ")sdx_page\";\n}\n}  // namespace sardonyx::serve\n")
