// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers that read the database.
 */
#include "rpc/call.h"
#include "rpc/handlers.h"

static void unavailable(void *closure_data)
{
	call_fail(closure_data, CALL_ERROR_UNAVAILABLE, "this daemon has no database: give one with '--db FILE'");
}

void rpc_query_explain(Ingero__V1__Query_Service *service, const Ingero__V1__ExplainRequest *request,
		       Ingero__V1__ExplainReply_Closure closure, void *closure_data)
{
	(void)service;
	(void)request;
	(void)closure;
	unavailable(closure_data);
}

void rpc_query_events(Ingero__V1__Query_Service *service, const Ingero__V1__EventsRequest *request,
		      Ingero__V1__EventsReply_Closure closure, void *closure_data)
{
	(void)service;
	(void)request;
	(void)closure;
	unavailable(closure_data);
}

void rpc_query_sql(Ingero__V1__Query_Service *service, const Ingero__V1__SqlRequest *request,
		   Ingero__V1__SqlReply_Closure closure, void *closure_data)
{
	(void)service;
	(void)request;
	(void)closure;
	unavailable(closure_data);
}

void rpc_query_export(Ingero__V1__Query_Service *service, const Ingero__V1__ExportRequest *request,
		      Ingero__V1__ExportReply_Closure closure, void *closure_data)
{
	(void)service;
	(void)request;
	(void)closure;
	unavailable(closure_data);
}
